/*
 * One step of a PID controller with a limited output, an integral that does not wind up, and a filtered derivative.
 */
#include <math.h>
#include <stdbool.h>

typedef struct {
    float kp, ki, kd;
    float min, max;     /* of the output */
    float alpha;        /* of the filter of the derivative, from 0 (none) to 1 */
    float deadband;
    float integral;
    float derivative;
    float last;         /* the measurement of the step before */
    bool is_first;
} pid_state_t;

float pid_step(pid_state_t *s, float setpoint, float measurement, float dt)
{
    if (!(dt > 0.0f) || s->min > s->max)
        return 0.0f;
    float error = setpoint - measurement;
    if (fabsf(error) < s->deadband)
        error = 0.0f;
    if (s->is_first) {
        s->last = measurement;
        s->derivative = 0.0f;
        s->is_first = false;
    }
    /* Of the measurement: a new set point makes no kick. */
    float slope = (s->last - measurement) / dt;
    if (s->alpha > 0.0f && s->alpha < 1.0f)
        s->derivative += s->alpha * (slope - s->derivative);
    else
        s->derivative = slope;
    s->last = measurement;

    float integral = s->integral + s->ki * error * dt;
    float output = s->kp * error + integral + s->kd * s->derivative;
    if (output > s->max) {
        output = s->max;
        if (error < 0.0f)
            s->integral = integral;
    } else if (output < s->min) {
        output = s->min;
        if (error > 0.0f)
            s->integral = integral;
    } else {
        s->integral = integral;
    }
    return output;
}
